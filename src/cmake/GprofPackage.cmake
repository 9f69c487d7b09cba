# CPack; see docs/commands and setup.sh.
