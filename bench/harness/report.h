// The printed table, the same table as Markdown, and the JSON file that compare.py reads.
#pragma once

#include <string>
#include <vector>

#include "harness/harness.h"
#include "harness/machine.h"

namespace bench {

struct Context {
  const Options* options;
  const Bandwidth* bandwidth;  // nullptr if nothing was timed
  std::vector<std::string> peers;
  std::vector<std::string> settings;
};

void print_context(const Context& context);
void print_row(const Measured& row);
void print_summary(const std::vector<Measured>& rows);
void write_json(const std::string& file, const Context& context, const std::vector<Measured>& rows);
void write_markdown(const std::string& file, const Context& context,
                    const std::vector<Measured>& rows);

}  // namespace bench
