tidemark_test(jobs_test LABEL unit
  SOURCES unit/jobs_archive_test.cpp unit/jobs_cron_test.cpp unit/jobs_schedule_test.cpp unit/jobs_own_kinds_test.cpp unit/jobs_spec_test.cpp unit/jobs_callback_test.cpp unit/jobs_record_test.cpp unit/jobs_poison_test.cpp
  LINK tidemark_jobs)
