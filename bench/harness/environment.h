// The settings the peers read from the environment when they are loaded.
#pragma once

#include <string>
#include <vector>

namespace bench {

// Gives every peer its best case on this CPU. Libraries read the environment before main runs, so
// the program starts itself once more when something must change; returns only when all is set.
void prepare_environment(char** argv, int threads);

// The settings in force, for the report.
std::vector<std::string> environment_settings();

}  // namespace bench
