# bash completion for gprof-cli. Commands and options are read from --help, so this file does not go stale.
_gprof_cli() {
  local cur=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} i
  if ((COMP_CWORD == 1)); then
    local commands
    commands=$("$program" help 2>/dev/null | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on { print $1 }')
    mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
    return
  fi
  # Everything after the program of `profile` belongs to that program.
  if [[ ${COMP_WORDS[1]} == profile ]]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      if [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
        return
      fi
    done
  fi
  if [[ $cur == -* ]]; then
    local options
    options=$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z0-9-]*' | tr -d ' ,')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -o filenames -F _gprof_cli gprof-cli
