/* base/curl.c - loading libcurl. */
#include "base/curl.h"
#include "base/err.h"

#include <dlfcn.h>
#include <stddef.h>

enum { GLOBAL_ALL = 3 };

int curl_load(struct curl *c, infer_error *err)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4",
		                             "libcurl.4.dylib" };
	void *so = NULL;

	for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return err_set(
			err, INFER_EUNSUP,
			"there is no libcurl, which sends requests: install the package libcurl4 "
			"(Debian, Ubuntu) or libcurl (others), which has libcurl.so.4");
#define LOAD(name, result, arguments) \
	if (!(*(void **)(void *)&c->name = dlsym(so, "curl_" #name))) \
		return err_set(err, INFER_EUNSUP, "libcurl lacks %s", "curl_" #name);
	CURL_CALLS(LOAD)
	return c->global_init(GLOBAL_ALL) ? err_set(err, INFER_ENOMEM, "libcurl does not start")
	                                  : INFER_OK;
}
