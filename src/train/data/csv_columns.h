// Finds out what the columns of a CSV file are: numbers or text, inputs or target, the task.
#ifndef OPENBNNS_TRAIN_DATA_CSV_COLUMNS_H
#define OPENBNNS_TRAIN_DATA_CSV_COLUMNS_H

#include "openbnns/train/open_data.hpp"
#include "train/data/csv_file.h"

namespace bnns::train::impl {

// Reads the whole file, twice if it has text. Kind and shape are those of a table.
DataDescription describe_table(CsvFile& file, const TableOptions& options,
                               std::size_t target_column);

// The number of the target column that the options name.
std::size_t find_target(const CsvFile& file, const TableOptions& options);

}  // namespace bnns::train::impl

#endif
