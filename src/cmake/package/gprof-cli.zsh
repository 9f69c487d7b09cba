#compdef gprof-cli
# zsh completion for gprof-cli. Commands and options are read from --help, so this file does not go stale.
local program=${words[1]}
if (( CURRENT == 2 )); then
  local -a commands
  commands=(${(f)"$($program help 2>/dev/null | awk '/^Commands/ { on = 1; next } /^$/ { on = 0 } on { print $1 }')"})
  compadd -- $commands --help --version
elif [[ ${words[2]} == profile && ${words[(I)--]} -gt 0 && ${words[(I)--]} -lt CURRENT ]]; then
  local end=${words[(I)--]}
  shift $end words
  (( CURRENT -= end ))
  _normal
elif [[ ${words[CURRENT]} == -* ]]; then
  local -a options
  options=(${(f)"$($program ${words[2]} --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z0-9-]*' | tr -d ' ,')"})
  compadd -- $options
else
  _files
fi
