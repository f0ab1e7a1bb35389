using System.Text.Json.Nodes;

namespace Tidemark;

/// <summary>An entity that steps change. Values of type long, double, DateTimeOffset, Guid and byte[] keep their types.</summary>
public class Entity
{
    private readonly Transaction _transaction;
    private protected readonly JsonObject Target;
    internal Entity(Transaction transaction, JsonObject target) => (_transaction, Target) = (transaction, target);
    public Transaction Put(IReadOnlyDictionary<string, object?> entity) => Step("put", ("entity", Values(entity)));
    public Transaction Insert(IReadOnlyDictionary<string, object?> entity) => Step("insert", ("entity", Values(entity)));

    /// <summary>Sets properties, adds to numbers, or both.</summary>
    public Transaction Merge(IReadOnlyDictionary<string, object?>? set = null, IReadOnlyDictionary<string, object?>? add = null, bool orInsert = false) =>
        Step("merge", ("set", Values(set)), ("add", Values(add)), ("orInsert", orInsert ? orInsert : null));
    public Transaction Delete() => Step("delete");

    private Transaction Step(string kind, params (string, object?)[] members) => _transaction.Step(kind, Transaction.With(Target, members));

    private static JsonObject? Values(IReadOnlyDictionary<string, object?>? values) =>
        values is null ? null : new JsonObject(values.Select(each => KeyValuePair.Create(each.Key, Value(each.Value))));

    private static JsonNode? Value(object? value) => value switch
    {
        long number => Typed("Int64", number.ToString(System.Globalization.CultureInfo.InvariantCulture)),
        double number => Typed("Double", number),
        DateTimeOffset time => Typed("DateTime", time.UtcDateTime.ToString("O")),
        Guid guid => Typed("Guid", guid.ToString()),
        byte[] bytes => Typed("Binary", Convert.ToBase64String(bytes)),
        _ => TidemarkClient.Json(value),
    };

    private static JsonObject Typed(string type, JsonNode value) => new() { ["type"] = type, ["value"] = value };
}

/// <summary>An entity that a transaction depends on. guard["Name"] stands for a property of it, as it is when the
/// transaction is decided, with its type; Minus("Name") for the number with the other sign, in `add`.</summary>
public sealed class Guard : Entity
{
    internal Guard(Transaction transaction, string name) : base(transaction, new() { ["of"] = name }) { }
    public string this[string property] => $"{{{Target["of"]}.{property}}}";
    public string Minus(string property) => "-" + this[property];
}

/// <summary>Collects guards and steps. It is submitted as a job, for which it needs a client, or ends a job of a worker
/// (End). `members` are those that every job has; `more` are other members of a guard or a step, such as account.</summary>
public sealed class Transaction(TidemarkClient? client = null, object? members = null)
{
    private readonly JsonArray _guards = [], _steps = [];

    /// <summary>Asks that there be such an entity and that it match the filter; "absent": that there be none.</summary>
    public Guard Guard(string table, string partitionKey, string rowKey, string? where = null, object? more = null)
    {
        var name = $"g{_guards.Count}";
        _guards.Add(With(more, ("as", name), ("table", table), ("partitionKey", partitionKey), ("rowKey", rowKey), ("where", where)));
        return new Guard(this, name);
    }

    public Entity Entity(string table, string partitionKey, string rowKey, object? more = null) =>
        new(this, With(more, ("table", table), ("partitionKey", partitionKey), ("rowKey", rowKey)));

    /// <summary>Puts a message: a text, or anything else as JSON.</summary>
    public Transaction Message(string queue, object content, object? more = null) =>
        Step("message", With(more, ("queue", queue), (content is string ? "text" : "json", content)));

    public Transaction Blob(string container, string name, object content, object? more = null) =>
        Step("blob", With(more, ("container", container), ("name", name), (content is string ? "text" : "json", content)));

    /// <summary>Adds any step, such as Step("callback", new { url }).</summary>
    public Transaction Step(string kind, object members)
    {
        _steps.Add(new JsonObject { [kind] = TidemarkClient.Json(members) });
        return this;
    }

    /// <summary>Returns a text that stands for itself, with its braces doubled: texts of a transaction are templates.</summary>
    public static string Literal(string text) => text.Replace("{", "{{").Replace("}", "}}");

    /// <summary>Its "state" ends as "succeeded", or "cancelled" with the guard that did not hold in "result".</summary>
    public Task<JsonObject> SubmitAsync(TimeSpan wait = default, CancellationToken stop = default) =>
        client!.SubmitAsync("transaction", Body(), wait, stop);

    /// <summary>Returns what each step would change now, without changing it.</summary>
    public Task<JsonObject> PlanAsync(CancellationToken stop = default) => client!.PlanAsync("transaction", Body(), stop);

    internal JsonObject Body() => With(members, ("guards", _guards), ("steps", _steps));

    internal static JsonObject With(object? more, params (string Name, object? Value)[] members)
    {
        var all = TidemarkClient.Json(more) as JsonObject ?? [];
        foreach (var (name, value) in members.Where(each => each.Value is not null)) all[name] = TidemarkClient.Json(value);
        return all;
    }
}
