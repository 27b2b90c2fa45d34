// Marks what the shared library of training exports.
#ifndef OPENBNNS_TRAIN_API_HPP
#define OPENBNNS_TRAIN_API_HPP

#define OPENBNNS_TRAIN_API __attribute__((visibility("default")))

#endif
