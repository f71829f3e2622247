/* libcupti.so.12 without a GPU: refuses everything, as all that no stand-in is written for. */
int cuptiGetResultString(int code, const char **text) {
  *text = "CUPTI_ERROR_NOT_INITIALIZED";
  return 0;
}
