"""``python -m separatrix`` is the command line."""

from separatrix.cli.main import main

if __name__ == "__main__":
    main()
