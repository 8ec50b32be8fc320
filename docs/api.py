"""Build the API reference from the docstrings; a warning about this project is an error.

make docs
python docs/api.py out/api
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

# Libraries that look for their own files start programs when they are imported.
os.environ["PDOC_ALLOW_EXEC"] = "1"

import pdoc
import pdoc.render

PACKAGES = ("datagen", "scenes", "randomizers", "writers")


def main() -> int:
    """Write the pages; give 1 where something was warned about."""
    out = Path(sys.argv[1])
    pdoc.render.configure(docformat="google", footer_text="datagen")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        pdoc.pdoc(*PACKAGES, output_directory=out)
    # What dask's classes say of themselves is not ours.
    own = [each for each in caught if "distributed." not in str(each.message)]
    own = [each for each in own if "_Server__" not in str(each.message)]
    for warning in own:
        print(warning.message, file=sys.stderr)
    print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages")
    return 1 if own else 0


if __name__ == "__main__":
    sys.exit(main())
