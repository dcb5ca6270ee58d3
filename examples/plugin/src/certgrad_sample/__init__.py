"""A sample plugin of certgrad."""
