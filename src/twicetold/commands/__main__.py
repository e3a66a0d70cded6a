"""`python -m twicetold.commands`."""

from twicetold.commands import main

if __name__ == "__main__":
    main()
