# The files of monitoring/ beside a real Prometheus; skipped, with a reason, where Debian's package prometheus is
# missing.
foreach(suite rules alerts)
  tidemark_python_test(monitoring_${suite} LABEL process TIMEOUT 600 SCRIPT ${CMAKE_CURRENT_LIST_DIR}/${suite}_test.py)
endforeach()
