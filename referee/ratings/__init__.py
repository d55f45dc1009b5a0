"""Bradley-Terry ratings and sequential tests: numbers in, numbers out."""
