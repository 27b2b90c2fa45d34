// The style sheet of the report.
#ifndef OPENBNNS_TRAIN_REPORT_STYLE_H
#define OPENBNNS_TRAIN_REPORT_STYLE_H

#include <string_view>

namespace bnns::train::impl {

extern const std::string_view kStyle;

}  // namespace bnns::train::impl

#endif
