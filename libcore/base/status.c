/* base/status.c - names of the status codes, and the version. */
#include <infer/status.h>

const char *infer_version(void) { return INFER_VERSION; }

const char *infer_status_name(int code)
{
	switch ((enum infer_status)code) {
	case INFER_OK:
		return "INFER_OK";
	case INFER_EINVAL:
		return "INFER_EINVAL";
	case INFER_EFORMAT:
		return "INFER_EFORMAT";
	case INFER_EUNSUP:
		return "INFER_EUNSUP";
	case INFER_ENOMEM:
		return "INFER_ENOMEM";
	case INFER_EIO:
		return "INFER_EIO";
	case INFER_ENET:
		return "INFER_ENET";
	case INFER_EDEVICE:
		return "INFER_EDEVICE";
	case INFER_ECANCEL:
		return "INFER_ECANCEL";
	case INFER_EAGAIN:
		return "INFER_EAGAIN";
	case INFER_EEMPTY:
		return "INFER_EEMPTY";
	case INFER_ENAN:
		return "INFER_ENAN";
	case INFER_STATUS_COUNT:
		break;
	}
	return "INFER_E?";
}
