/* base/curl.h - libcurl's functions and constants, loaded with dlopen.  The constants are part of
 * its ABI, which is unchanged since 7.16, so its headers are not needed.  Confined. */
#ifndef BASE_CURL_H
#define BASE_CURL_H
#include <infer/status.h>

enum {
	CURL_OPT_NOBODY = 44,
	CURL_OPT_POSTFIELDSIZE = 60,
	CURL_OPT_HTTPGET = 80,
	CURL_OPT_HTTP_VERSION = 84,
	CURL_OPT_BUFFERSIZE = 98,
	CURL_OPT_NOSIGNAL = 99,
	CURL_OPT_TIMEOUT_MS = 155,
	CURL_OPT_CONNECTTIMEOUT_MS = 156,
	CURL_OPT_PROTOCOLS = 181,
	CURL_OPT_HEADEROPT = 229, /* since libcurl 7.37 */
	CURL_OPT_PATH_AS_IS = 234,
	CURL_OPT_SUPPRESS_CONNECT_HEADERS = 265, /* 7.54 */
	CURL_OPT_QUICK_EXIT = 322,               /* 7.87 */
	CURL_OPT_WRITEDATA = 10001,
	CURL_OPT_URL = 10002,
	CURL_OPT_POSTFIELDS = 10015,
	CURL_OPT_USERAGENT = 10018,
	CURL_OPT_HTTPHEADER = 10023,
	CURL_OPT_HEADERDATA = 10029,
	CURL_OPT_CAINFO = 10065,
	CURL_OPT_PRIVATE = 10103,
	CURL_OPT_NOPROXY = 10177,
	CURL_OPT_UNIX_SOCKET_PATH = 10231,
	CURL_OPT_WRITEFUNCTION = 20011,
	CURL_OPT_HEADERFUNCTION = 20079,
	CURL_INFO_RESPONSE_CODE = 0x200002,
	CURL_INFO_PRIVATE = 0x100015,
	CURL_VERSION_1_1 = 2,
	CURL_PROTO_HTTP = 1,
	CURL_PROTO_HTTPS = 2,
	CURL_HEADER_SEPARATE = 1,
	CURL_MESSAGE_DONE = 1,
	/* results of a transfer */
	CURL_NO_PROXY_HOST = 5,
	CURL_NO_HOST = 6,
	CURL_NO_CONNECTION = 7,
	CURL_TIMED_OUT = 28,
	CURL_NOT_TRUSTED = 60,
	CURL_BAD_CA_FILE = 77
};
struct curl_message {
	int what; /* CURL_MESSAGE_DONE */
	void *easy;
	union {
		void *any;
		int result;
	} data;
};
struct curl_fd {
	int fd;
	short events, revents; /* 1: readable */
};

/* F(name, result type, argument types) */
#define CURL_CALLS(F) \
	F(global_init, int, (long)) \
	F(easy_init, void *, (void)) \
	F(easy_cleanup, void, (void *)) \
	F(easy_setopt, int, (void *, int, ...)) \
	F(easy_getinfo, int, (void *, int, ...)) \
	F(easy_strerror, const char *, (int)) \
	F(slist_append, void *, (void *, const char *)) \
	F(slist_free_all, void, (void *)) \
	F(multi_init, void *, (void)) \
	F(multi_cleanup, int, (void *)) \
	F(multi_add_handle, int, (void *, void *)) \
	F(multi_remove_handle, int, (void *, void *)) \
	F(multi_perform, int, (void *, int *)) \
	F(multi_wait, int, (void *, struct curl_fd *, unsigned, int, int *)) \
	F(multi_info_read, struct curl_message *, (void *, int *)) \
	F(multi_strerror, const char *, (int))

#define CURL_FIELD(name, result, arguments) result(*name) arguments;
struct curl {
	CURL_CALLS(CURL_FIELD)
};
/* Load and initialise libcurl.  It is never unloaded, because it may have threads and handlers of
 * its own.
 * INFER_EUNSUP: there is no libcurl, or it lacks a function. */
int curl_load(struct curl *c, infer_error *err);
#endif
