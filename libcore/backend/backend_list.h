/* backend/backend_list.h - BACKEND(folder), the one that is always there first. */
BACKEND(cpu)
#ifdef BACKEND_cuda
BACKEND(cuda)
#endif
