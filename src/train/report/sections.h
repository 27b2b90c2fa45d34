// The parts of the report; each is empty if the report has nothing for it.
#ifndef OPENBNNS_TRAIN_REPORT_SECTIONS_H
#define OPENBNNS_TRAIN_REPORT_SECTIONS_H

#include <string>

#include "openbnns/train/report.hpp"

namespace bnns::train::impl {

// overview.cpp
std::string header_html(const Report& report);
std::string figures_html(const Report& report);
std::string facts_section(const Report& report);
// progress.cpp
std::string curves_section(const Report& report);
std::string epochs_section(const Report& report);
// classes.cpp
std::string confusion_section(const Report& report);
std::string mistakes_section(const Report& report);
std::string classes_section(const Report& report);
// regression.cpp
std::string regression_section(const Report& report);
// pictures.cpp
std::string images_section(const Report& report);
std::string filters_section(const Report& report);
// network.cpp
std::string network_section(const Report& report);
std::string times_section(const Report& report);

}  // namespace bnns::train::impl

#endif
