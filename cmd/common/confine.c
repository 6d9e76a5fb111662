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
	tzset(); /* reads /etc/localtime now, because templates may need the local time */
	if (!sandbox_enter(flags, &why))
		return INFER_OK;
	if (how == CONFINE_ASKED)
		return err_set(err, why.code, "--sandbox: %s", why.message);
	/* if confine is called twice, only the last call reports it */
	if (!(flags & SANDBOX_READ)) {
		snprintf(sentence, sizeof sentence, "no sandbox: %s", why.message);
		say_log(NULL, INFER_LOG_INFO, sentence);
	}
	return INFER_OK;
}
