"""What a release holds, and that it works where nothing else is installed."""
