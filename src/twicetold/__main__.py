"""`python -m twicetold`: the command."""

from twicetold.commands import main

if __name__ == "__main__":
    main()
