"""Go-Explore for hard-exploration problems."""
