#include "../../openbnns_forward.h"
