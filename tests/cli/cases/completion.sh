eval "$(tern completion bash)"
complete_words()
{
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _tern
    echo "${COMPREPLY[*]}"
}
complete_words tern ""
complete_words tern gr
complete_words tern graph ""
complete_words tern graph run --
complete_words tern list ""
complete_words tern list ops --j
complete_words tern list --color ""
touch net.tern
complete_words tern graph run ne
complete_words tern bench o
complete_words tern bench ops --mem
complete_words tern baseline create --desc
