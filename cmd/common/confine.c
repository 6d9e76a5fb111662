/* common/confine.c - entering the sandbox. */
#include "common/confine.h"
#include "common/progress.h"
#include "common/say.h"
#include "base/err.h"

#include <stdio.h>
#include <time.h>

int confine(enum confine how, unsigned flags, infer_error *err)
{
	infer_error why = { 0 };
	char sentence[sizeof why.message + 16];

	progress_open();
	tzset(); /* templates may use the time: /etc/localtime, or UTC without it */
	if (!sandbox_enter(flags, &why))
		return INFER_OK;
	if (how == CONFINE_ASKED)
		return err_set(err, why.code, "--sandbox: %s", why.message);
	if (!(flags & SANDBOX_READ)) { /* of two calls, the last reports it */
		snprintf(sentence, sizeof sentence, "no sandbox: %s", why.message);
		say_log(NULL, INFER_LOG_INFO, sentence);
	}
	return INFER_OK;
}
