"""`python -m twicetold.commands`."""

from twicetold.commands import main

main()
