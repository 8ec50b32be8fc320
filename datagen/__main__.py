"""The command `datagen`, and `python -m datagen`."""

from datagen.interrupts import end_at_once_on_signals


def main() -> None:
    """Run the command line; it ends the process."""
    end_at_once_on_signals()  # Loading the command line takes a moment.
    from datagen.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
