"""python -m partita, and torchrun -m partita."""

from partita.cli.main import main

if __name__ == "__main__":
    main()
