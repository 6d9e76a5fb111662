/* job/fault.c - the kinds of faults, and their HTTP status */
#include <infer/job.h>
#include "base/err.h"

int infer_fault_kind(int code)
{
	switch (code) {
	case INFER_OK:
		return INFER_FAULT_NONE;
	case INFER_EINVAL:
	case INFER_EFORMAT:
	case INFER_EUNSUP:
	case INFER_EEMPTY:
		return INFER_FAULT_INVALID;
	case INFER_EAGAIN:
		return INFER_FAULT_BUSY;
	default: /* running out of memory is an error of the server */
		return INFER_FAULT_SERVER;
	}
}

static const int statuses[] = {
#define FAULT(kind, status, type, code, anthropic) [INFER_FAULT_##kind] = status,
#include "job/fault_list.h"
#undef FAULT
};

int infer_fault_status(int kind)
{
	must(kind >= 0 && kind < (int)(sizeof statuses / sizeof *statuses));
	return statuses[kind];
}
