"""Reports: pure functions from certificates to text. Nothing here proves, times or writes anything."""
