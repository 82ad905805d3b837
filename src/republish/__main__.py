"""`python -m republish` is the command line."""

from republish.cli import main

main()
