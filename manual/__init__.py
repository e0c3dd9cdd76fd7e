"""Makes the site of the manual from the Markdown pages: `make docs`.

`sections.py` is its table of contents, `staging.py` what is done to a page on its way to the site,
`build.py` runs the generator (Zensical) once per language. Nothing of `trunkline` is needed here.
"""
