#compdef openbnns
# zsh completion of openbnns; written by tools/program_pages.py.
local -a commands
commands=(
  'train:Trains a network and saves it'
  'eval:Measures a model on data'
  'predict:Applies a model to pictures or tables'
  'info:Tells what is in a model or a network file'
  'gradcheck:Checks the gradients of a network'
  'bench:Measures the speed of a network'
)
if (( CURRENT == 2 )); then
  _describe command commands
  _arguments '--help' '--version'
  return
fi
case $words[2] in
  train)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--json[lines of JSON; the last one has the result]' \
      '*--quiet[no progress; with --json the result alone]' \
      '*--data[synthetic-digits(,COUNT), a folder, IMAGES,LABELS or FILE.csv]:TEXT:_files' \
      '*--validation[part kept for validation]:FRACTION:_files' \
      '*--test[part kept for the test, where no files are]:FRACTION:_files' \
      '*--image-size[size of all images; default, the first one'\''s]:WxH:_files' \
      '*--channels[1, grey, 3, colour; default, the first'\''s]:1|3:(1 3)' \
      '*--target[column to predict; default, the last one]:COLUMN:_files' \
      '*--task[what to predict; default, by the column]:classification|regression:(classification regression)' \
      '*--header[the first line of a table holds names]:detect|yes|no:(detect yes no)' \
      '*--delimiter[of a table; default, found in its first line]:CHARACTER:_files' \
      '*--ignore[columns to leave out]:COLUMN:_files' \
      '*--category[columns whose numbers are names]:COLUMN:_files' \
      '*--network[mlp, lenet, resnet-mini, digits or a JSON file; default, by data]:NAME|FILE:_files' \
      '*--from[start with the weights of this model]:MODEL:_files' \
      '*--freeze[layer that is not trained; may be given again]:LAYER:_files' \
      '*--epochs[passes over the training data]:NUMBER:_files' \
      '*--batch[samples per step]:NUMBER:_files' \
      '*--seed[of weights, order, split; same seed, same result]:NUMBER:_files' \
      '*--threads[0, all cores; results do not depend on it]:NUMBER:_files' \
      '*--shards[parts of a batch, summed in a fixed order]:NUMBER:_files' \
      '*--optimizer[how a step is made]:adam|adamw|rmsprop|sgd:(adam adamw rmsprop sgd)' \
      '*--learning-rate[size of a step]:NUMBER:_files' \
      '*--momentum[of sgd and rmsprop]:NUMBER:_files' \
      '*--nesterov[Nesterov'\''s momentum, for sgd]' \
      '*--weight-decay[pulls weights to 0]:NUMBER:_files' \
      '*--clip-norm[largest norm of the whole gradient; 0, any]:NUMBER:_files' \
      '*--clip-value[largest element of the gradient; 0, any]:NUMBER:_files' \
      '*--schedule[of the learning rate]:constant|step|cosine:(constant step cosine)' \
      '*--warm-up[steps over which it rises from 0]:STEPS:_files' \
      '*--step-epochs[step, every so many epochs ...]:EPOCHS:_files' \
      '*--step-factor[... it is multiplied by this]:FACTOR:_files' \
      '*--least[cosine, where its factor ends]:FACTOR:_files' \
      '*--loss[what is made small; automatic, softmax or mse]:automatic|softmax|sigmoid|categorical|mse|mae|huber|hinge|log|cosine:(automatic softmax sigmoid categorical mse mae huber hinge log cosine)' \
      '*--huber-delta[where the loss huber turns linear]:NUMBER:_files' \
      '*--label-smoothing[share given to all classes]:SHARE:_files' \
      '*--class-weights[rare classes count as much as others]' \
      '*--augment-shift[move images at random]:PIXELS:_files' \
      '*--augment-flip[mirror half of the images]' \
      '*--patience[stop after so many epochs without progress; 0, never]:EPOCHS:_files' \
      '*--keep-last[keep the last epoch'\''s weights, not the best'\''s]' \
      '*--output[the model]:FILE:_files' \
      '*--report[default, OUTPUT with .html; none, no report]:FILE:_files' \
      '*--log[default, OUTPUT with .jsonl; none, no log]:FILE:_files' \
      '*--checkpoint[default, OUTPUT with .checkpoint; none, no checkpoint]:FILE:_files' \
      '*--resume[go on from the checkpoint]' \
      '*:file:_files'
    ;;
  eval)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--json[one line of JSON]' \
      '*--data[synthetic-digits(,COUNT), a folder, IMAGES,LABELS or FILE.csv]:TEXT:_files' \
      '*--validation[part kept for validation]:FRACTION:_files' \
      '*--test[part kept for the test, where no files are]:FRACTION:_files' \
      '*--image-size[size of all images; default, the first one'\''s]:WxH:_files' \
      '*--channels[1, grey, 3, colour; default, the first'\''s]:1|3:(1 3)' \
      '*--target[column to predict; default, the last one]:COLUMN:_files' \
      '*--task[what to predict; default, by the column]:classification|regression:(classification regression)' \
      '*--header[the first line of a table holds names]:detect|yes|no:(detect yes no)' \
      '*--delimiter[of a table; default, found in its first line]:CHARACTER:_files' \
      '*--ignore[columns to leave out]:COLUMN:_files' \
      '*--category[columns whose numbers are names]:COLUMN:_files' \
      '*--part[which samples are measured]:auto|training|validation|test|all:(auto training validation test all)' \
      '*--seed[of the split; default, the model'\''s]:NUMBER:_files' \
      '*--threads[0, all cores; results do not depend on it]:NUMBER:_files' \
      '*:file:_files'
    ;;
  predict)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--top[classes to tell of each sample, the likeliest first]:NUMBER:_files' \
      '*--csv[a table with a line of names]' \
      '*--json[one line of JSON per sample]' \
      '*--header[the first line of a table holds names]:detect|yes|no:(detect yes no)' \
      '*--threads[0, all cores; results do not depend on it]:NUMBER:_files' \
      '*:file:_files'
    ;;
  info)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--json[one line of JSON]' \
      '*:file:_files'
    ;;
  gradcheck)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--input[samples of a named network]:WxHxC:_files' \
      '*--outputs[outputs of a named network]:NUMBER:_files' \
      '*--seed[of samples, weights and directions]:NUMBER:_files' \
      '*--tolerance[largest error of a right gradient]:NUMBER:_files' \
      '*--json[one line of JSON]' \
      '*:file:_files'
    ;;
  bench)
    _arguments \
      '*--help[Print this help message and exit]' \
      '*--network[mlp, lenet, resnet-mini, digits or a JSON file]:NAME|FILE:_files' \
      '*--input[samples of a named network]:WxHxC:_files' \
      '*--outputs[outputs of a named network]:NUMBER:_files' \
      '*--batch[samples per step]:NUMBER:_files' \
      '*--seconds[length of each measurement]:NUMBER:_files' \
      '*--json[one line of JSON]' \
      '*--threads[0, all cores; results do not depend on it]:NUMBER:_files' \
      '*:file:_files'
    ;;
esac
