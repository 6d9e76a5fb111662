#include "kern/avxvnni/int.h"
#include "kern/tmpl/mm_q256.h"
