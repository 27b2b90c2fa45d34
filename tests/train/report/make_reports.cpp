// Writes the reports that the browser test opens, and the figures they must show, into a folder.
// Usage: train_make_reports FOLDER
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <limits>

#include "openbnns/train/report.hpp"
#include "report/example_report.h"

namespace {

using namespace bnns::train;

// One line per epoch: number, losses and scores, with all digits.
void write_figures(const std::filesystem::path& path, const Report& report) {
  std::ofstream stream(path);
  stream << std::setprecision(std::numeric_limits<double>::max_digits10);
  for (const Report::Epoch& epoch : report.epochs) {
    stream << epoch.number << ' ' << epoch.training_loss << ' ' << epoch.training_score << ' '
           << epoch.validation_loss << ' ' << epoch.validation_score << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: train_make_reports FOLDER\n", stderr), 2;
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    write_report(folder / "classification.html", test::classification_report());
    write_figures(folder / "classification.txt", test::classification_report());
    write_report(folder / "hostile.html", test::hostile_report());
    write_report(folder / "many.html", test::many_classes_report(100));
    write_report(folder / "regression.html", test::regression_report());
    write_figures(folder / "regression.txt", test::regression_report());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
