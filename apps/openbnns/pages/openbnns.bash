# bash completion of openbnns; written by tools/program_pages.py.
_openbnns() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "train eval predict info gradcheck bench --help --version" -- "$word"))
    return
  fi
  case $before in
    --channels) words="1 3" ;;
    --header) words="detect yes no" ;;
    --loss) words="automatic softmax sigmoid categorical mse mae huber hinge log cosine" ;;
    --network) words="mlp lenet resnet-mini digits" ;;
    --optimizer) words="adam adamw rmsprop sgd" ;;
    --part) words="auto training validation test all" ;;
    --schedule) words="constant step cosine" ;;
    --task) words="classification regression" ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ "$before" = --network ] && COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  if [[ $word != -* ]]; then
    [ "$before" = --data ] && COMPREPLY=($(compgen -W synthetic-digits -- "$word"))
    COMPREPLY+=($(compgen -f -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    train) words="--help --json --quiet --data --validation --test --image-size --channels --target --task --header --delimiter --ignore --category --network --from --freeze --epochs --batch --seed --threads --shards --optimizer --learning-rate --momentum --nesterov --weight-decay --clip-norm --clip-value --schedule --warm-up --step-epochs --step-factor --least --loss --huber-delta --label-smoothing --class-weights --augment-shift --augment-flip --patience --keep-last --output --report --log --checkpoint --resume" ;;
    eval) words="--help --json --data --validation --test --image-size --channels --target --task --header --delimiter --ignore --category --part --seed --threads" ;;
    predict) words="--help --top --csv --json --header --threads" ;;
    info) words="--help --json" ;;
    gradcheck) words="--help --input --outputs --seed --tolerance --json" ;;
    bench) words="--help --network --input --outputs --batch --seconds --json --threads" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o filenames -F _openbnns openbnns
