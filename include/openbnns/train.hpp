// Training as a library: describe a network, train it, save it, load it, predict.
#ifndef OPENBNNS_TRAIN_HPP
#define OPENBNNS_TRAIN_HPP

#include "train/communicator.hpp"
#include "train/data.hpp"
#include "train/description.hpp"
#include "train/error.hpp"
#include "train/fit.hpp"
#include "train/gradient_check.hpp"
#include "train/network.hpp"
#include "train/open_data.hpp"
#include "train/options.hpp"
#include "train/preprocessing.hpp"
#include "train/report.hpp"

#endif
