// What the tests of the C++ classes expect of a failure.
#ifndef OPENBNNS_TESTS_UNIT_CPP_EXPECT_H
#define OPENBNNS_TESTS_UNIT_CPP_EXPECT_H

#include <gtest/gtest.h>

#include <string>

#include "openbnns/error.hpp"

// `call` throws bnns::Error with that code and with `part` in its reason.
template <typename Call>
void expect_error(const Call& call, bnns::Error::Code code, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "did not throw; expected: " << part;
  } catch (const bnns::Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

#endif
