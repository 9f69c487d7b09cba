# fish completion for gprof-cli. Commands and options are read from --help, so this file does not go stale.
function __gprof_cli_commands
    gprof-cli help 2>/dev/null | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'
end
function __gprof_cli_options
    set -l words (commandline -opc)
    gprof-cli $words[2] --help 2>/dev/null | string match -rga -- '(?:^|[ ,])(--?[a-zA-Z][a-zA-Z0-9-]*)'
end
complete -c gprof-cli -n 'test (count (commandline -opc)) -eq 1' -f -a '(__gprof_cli_commands) --help --version'
complete -c gprof-cli -n 'test (count (commandline -opc)) -ge 2; and string match -q -- "-*" (commandline -ct)' -f -a '(__gprof_cli_options)'
