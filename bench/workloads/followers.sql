-- The rows that indexes of the kinds lists, copies and summary keep, kept by triggers: in the transaction of each write.
CREATE TABLE entities (pk text NOT NULL, rk text NOT NULL, grp text NOT NULL, size int NOT NULL, body text NOT NULL,
  PRIMARY KEY (pk, rk));
CREATE TABLE lists (grp text, pk text, rk text, PRIMARY KEY (grp, pk, rk));
CREATE TABLE copies (grp text, pk text, rk text, size int, body text, PRIMARY KEY (grp, pk, rk));
CREATE TABLE summary (grp text PRIMARY KEY, count bigint, sum bigint, min int, max int);

CREATE FUNCTION keep_lists() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO lists VALUES (NEW.grp, NEW.pk, NEW.rk);
  ELSIF NEW.grp <> OLD.grp THEN
    UPDATE lists SET grp = NEW.grp WHERE grp = OLD.grp AND pk = OLD.pk AND rk = OLD.rk;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION keep_copies() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO copies VALUES (NEW.grp, NEW.pk, NEW.rk, NEW.size, NEW.body);
  ELSE
    UPDATE copies SET grp = NEW.grp, size = NEW.size, body = NEW.body WHERE grp = OLD.grp AND pk = OLD.pk AND rk = OLD.rk;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION gain(g text, s int) RETURNS void LANGUAGE sql AS $$
  INSERT INTO summary VALUES (g, 1, s, s, s) ON CONFLICT (grp) DO UPDATE SET count = summary.count + 1,
    sum = summary.sum + s, min = least(summary.min, s), max = greatest(summary.max, s);
$$;

-- Looks for the next minimum and maximum, by the index on (grp, size), only if one of them is lost.
CREATE FUNCTION lose(g text, s int) RETURNS void LANGUAGE plpgsql AS $$ DECLARE was summary; BEGIN
  UPDATE summary SET count = count - 1, sum = sum - s WHERE grp = g RETURNING * INTO was;
  IF was.count = 0 THEN
    DELETE FROM summary WHERE grp = g;
  ELSIF s = was.min OR s = was.max THEN
    UPDATE summary SET min = (SELECT min(size) FROM entities WHERE grp = g),
      max = (SELECT max(size) FROM entities WHERE grp = g) WHERE grp = g;
  END IF;
END $$;

-- The groups in their order, so that two transactions never wait for each other.
CREATE FUNCTION keep_summary() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM gain(NEW.grp, NEW.size);
  ELSIF OLD.grp <= NEW.grp THEN
    PERFORM lose(OLD.grp, OLD.size);
    PERFORM gain(NEW.grp, NEW.size);
  ELSE
    PERFORM gain(NEW.grp, NEW.size);
    PERFORM lose(OLD.grp, OLD.size);
  END IF;
  RETURN NULL;
END $$;
