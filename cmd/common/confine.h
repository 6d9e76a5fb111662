/* common/confine.h - enter the sandbox (base/sandbox.h). */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H
#include <infer/status.h>
#include "base/sandbox.h"

/* CONFINE_TRY: by default; if the kernel refuses, -v prints why and the program continues.
 * CONFINE_ASKED: --sandbox; if the kernel refuses, that is an error. */
enum confine { CONFINE_TRY, CONFINE_ASKED };

/* Call sandbox_enter(flags), after starting the progress thread and reading the time zone, which the
 * sandbox would forbid.
 * INFER_EDEVICE  CONFINE_ASKED, and the kernel has no sandbox */
int confine(enum confine how, unsigned flags, infer_error *err);
#endif
