export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The hidden command that the scripts ask: it prints what may stand at the place of the last word. */
export const COMPLETE = "__complete";

/**
 * Each script asks the program itself (the one whose name is typed), so it never has to be made again. Answers are lines: a word, a tab, and
 * what it means; the line `:files` says that a file may stand there too.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# boxyard completion for bash
_boxyard() {
  local cur=\${COMP_WORDS[COMP_CWORD]} word meaning files=""
  COMPREPLY=()
  while IFS=$'\\t' read -r word meaning; do
    if [[ $word == :files ]]; then files=yes; else COMPREPLY+=("$word"); fi
  done < <("\${COMP_WORDS[0]}" ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null)
  if [[ \${COMPREPLY[0]} == *: ]]; then compopt -o nospace; fi
  if [[ $files && \${#COMPREPLY[@]} -eq 0 ]]; then compopt -o default; fi
  if [[ $files && \${#COMPREPLY[@]} -gt 0 ]]; then mapfile -t -O \${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur"); fi
}
complete -F _boxyard boxyard
`,
  zsh: `#compdef boxyard
# boxyard completion for zsh
_boxyard() {
  local line word files
  local -a found places
  for line in "\${(@f)$("\${(Q)words[1]}" ${COMPLETE} -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
    word=\${line%%$'\\t'*}
    if [[ $line == :files ]]; then files=yes
    elif [[ $word == *: ]]; then places+=("$word")
    elif [[ -n $word ]]; then found+=("\${word//:/\\:}:\${line#*$'\\t'}")
    fi
  done
  if (( $#found )); then _describe boxyard found; fi
  if (( $#places )); then compadd -S '' -a places; fi
  if [[ -n $files ]]; then _files; fi
}
# The file itself is the function when zsh loads it by its name.
if [[ "\${funcstack[1]}" == _boxyard ]]; then _boxyard "$@"; else compdef _boxyard boxyard; fi
`,
  fish: `# boxyard completion for fish
function __boxyard_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] ${COMPLETE} -- $words[2..-1] 2>/dev/null </dev/null)
    if test "$line" = :files
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c boxyard -f -a '(__boxyard_complete)'
`,
};

export const completionScript = (shell: Shell): string => SCRIPTS[shell];
