"""`python -m certgrad` is the command `certgrad`."""

from certgrad.cli import main

if __name__ == "__main__":
    main()
