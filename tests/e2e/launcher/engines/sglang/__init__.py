from stubs import TEXT as __version__
