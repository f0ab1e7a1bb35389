using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Azure;
using Azure.Data.Tables;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// The patterns of the guide to table design as .NET writes them; docs/table-patterns.md explains each.
public sealed class Patterns(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly TableClient table = fresh.Client;
    readonly string partition = Stores.FreshName("p");

    sealed class Department : ITableEntity
    {
        public string PartitionKey { get; set; } = "";
        public string RowKey { get; set; } = "department";
        public DateTimeOffset? Timestamp { get; set; }
        public ETag ETag { get; set; }
        public string? Name { get; set; }
        public string? ManagerName { get; set; }
        public int Employees { get; set; }
    }

    sealed class Employee : ITableEntity
    {
        public string PartitionKey { get; set; } = "";
        public string RowKey { get; set; } = "";
        public DateTimeOffset? Timestamp { get; set; }
        public ETag ETag { get; set; }
        public string? Name { get; set; }
        public string? LastName { get; set; }
        public string? Mail { get; set; }
        public string? Department { get; set; }
        public string? ManagerName { get; set; }
        public double Salary { get; set; }
    }

    [Fact]
    public async Task One_to_many_in_one_partition()
    {
        await table.SubmitTransactionAsync([
            Add(new Department { PartitionKey = partition, Name = "Sales", Employees = 2 }),
            Add(new Employee { PartitionKey = partition, RowKey = "employee_0001", Name = "Ann" }),
            Add(new Employee { PartitionKey = partition, RowKey = "employee_0002", Name = "Bo" })]);
        Department department = await table.GetEntityAsync<Department>(partition, "department");
        department.Employees++;
        await table.SubmitTransactionAsync([
            Add(new Employee { PartitionKey = partition, RowKey = "employee_0003", Name = "Cy" }),
            Replace(department, department.ETag)]);

        var employees = await table.QueryAsync<Employee>(e =>
            e.PartitionKey == partition && e.RowKey.CompareTo("employee_") >= 0 && e.RowKey.CompareTo("employee`") < 0).ToList();
        Assert.Equal(["Ann", "Bo", "Cy"], employees.Select(e => e.Name));
        Department after = await table.GetEntityAsync<Department>(partition, "department");
        Assert.Equal((3, "Sales"), (after.Employees, after.Name));

        // A writer that read the department before all this is refused as a whole.
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(() => table.SubmitTransactionAsync([
            Add(new Employee { PartitionKey = partition, RowKey = "employee_0004" }), Replace(department, department.ETag)]));
        Assert.Equal((412, 1), (error.Status, error.FailedTransactionActionIndex));
    }

    [Fact]
    public async Task Compound_keys()
    {
        foreach (var (key, rating) in new[] { ("000123_2022", 3), ("000123_2023", 4), ("000123_2024", 5), ("000124_2024", 1) })
        {
            await table.UpsertEntityAsync(new TableEntity(partition, key) { ["Rating"] = rating });
        }
        TableEntity one = await table.GetEntityAsync<TableEntity>(partition, "000123_2023");
        Assert.Equal(4, one.GetInt32("Rating"));
        var all = await table.QueryAsync<TableEntity>(
            e => e.PartitionKey == partition && string.Compare(e.RowKey, "000123_") >= 0 && string.Compare(e.RowKey, "000123`") < 0,
            select: ["Rating"]).ToList();
        Assert.Equal([3, 4, 5], all.Select(e => e.GetInt32("Rating")));
    }

    [Fact]
    public async Task An_index_inside_the_partition()
    {
        TableEntity[] Copies(string id, string mail) => [
            new(partition, $"id_{id}") { ["Mail"] = mail, ["Name"] = "Ann" },
            new(partition, $"mail_{mail}") { ["Id"] = id, ["Name"] = "Ann" }];

        await table.SubmitTransactionAsync(Copies("000123", "ann@example.org").Select(Put));
        TableEntity byMail = await table.GetEntityAsync<TableEntity>(partition, "mail_ann@example.org");
        Assert.Equal("000123", byMail.GetString("Id"));

        TableEntity old = await table.GetEntityAsync<TableEntity>(partition, "id_000123");
        var next = Copies("000123", "ann.new@example.org");
        await table.SubmitTransactionAsync([Replace(next[0], old.ETag), Delete(partition, "mail_ann@example.org"), Add(next[1])]);
        Assert.False((await table.GetEntityIfExistsAsync<TableEntity>(partition, "mail_ann@example.org")).HasValue);
        Assert.NotNull(await table.Read<TableEntity>(partition, "mail_ann.new@example.org"));

        // The address is unique: a second employee with it is refused.
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(
            () => table.SubmitTransactionAsync(Copies("000124", "ann.new@example.org").Select(Add)));
        Assert.Equal((409, "EntityAlreadyExists", 1), (error.Status, error.ErrorCode, error.FailedTransactionActionIndex));
        Assert.Null(await table.Read<TableEntity>(partition, "id_000124"));
    }

    [Fact]
    public async Task An_index_in_another_partition()
    {
        TableEntity Row(Employee e) => new($"{partition}{e.Mail}", $"{e.PartitionKey}_{e.RowKey}") { ["Department"] = e.PartitionKey, ["Id"] = e.RowKey };
        Task Save(Employee employee) => Retried(async () =>
        {
            var old = await table.Read<Employee>(employee.PartitionKey, employee.RowKey);
            var oldRow = old is null ? null : await table.Read<TableEntity>(Row(old).PartitionKey, Row(old).RowKey);
            await table.UpsertEntityAsync(Row(employee), TableUpdateMode.Replace);
            await (old is null ? table.AddEntityAsync(employee) : table.UpdateEntityAsync(employee, old.ETag, TableUpdateMode.Replace));
            if (oldRow is not null && old!.Mail != employee.Mail) await table.DeleteEntityAsync(oldRow, oldRow.ETag);
        });
        async Task<List<string?>> Lookup(string mail)
        {
            var key = partition + mail;
            var names = new List<string?>();
            await foreach (var row in table.QueryAsync<TableEntity>(e => e.PartitionKey == key))
            {
                var employee = await table.Read<Employee>(row.GetString("Department"), row.GetString("Id"));
                if (employee?.Mail == mail) names.Add(employee.Name);
            }
            return names;
        }
        Employee Ann(string mail) => new() { PartitionKey = partition, RowKey = "000123", Name = "Ann", Mail = mail };

        await Save(Ann("ann@example.org"));
        await Save(Ann("ann.new@example.org"));
        Assert.Empty(await Lookup("ann@example.org"));
        Assert.Equal(["Ann"], await Lookup("ann.new@example.org"));
        // A writer that died after its first step.
        await table.UpsertEntityAsync(Row(Ann("ann.newest@example.org")));
        Assert.Empty(await Lookup("ann.newest@example.org"));
    }

    [Fact]
    public async Task One_to_many_across_partitions()
    {
        string Of(string id) => $"{partition}{id}";
        Task Assign(string id, string department) => Retried(async () =>
        {
            Employee employee = await table.GetEntityAsync<Employee>(Of(id), "employee");
            var oldLink = employee.Department is null ? null : await table.Read<TableEntity>(Of(employee.Department), $"employee_{id}");
            await table.UpsertEntityAsync(new TableEntity(Of(department), $"employee_{id}"));
            await table.UpdateEntityAsync(new TableEntity(Of(id), "employee") { ["Department"] = department }, employee.ETag);
            if (oldLink is not null && department != employee.Department) await table.DeleteEntityAsync(oldLink, oldLink.ETag);
        });
        async Task<string> Show(string department)
        {
            var links = await table.QueryAsync<TableEntity>(TableClient.CreateQueryFilter(
                $"PartitionKey eq {Of(department)} and RowKey ge {"employee_"} and RowKey lt {"employee`"}")).ToList();
            var found = await Task.WhenAll(links.Select(link => table.Read<Employee>(Of(link.RowKey["employee_".Length..]), "employee")));
            return string.Join(", ", found.Where(e => e?.Department == department).Select(e => e!.Name));
        }
        foreach (var (id, name) in new[] { ("0001", "Ann"), ("0002", "Bo"), ("0003", "Cy") })
        {
            await table.AddEntityAsync(new Employee { PartitionKey = Of(id), RowKey = "employee", Name = name });
            await Assign(id, "sales");
        }
        await Assign("0002", "support");
        Assert.Equal("Ann, Cy", await Show("sales"));
        Assert.Equal("Bo", await Show("support"));
    }

    [Fact]
    public async Task A_list_in_the_partition_by_writers_that_meet()
    {
        Task Save(string id, string lastName) => Retried(async () =>
        {
            var old = await table.Read<Employee>(partition, $"id_{id}");
            var employee = new Employee { PartitionKey = partition, RowKey = $"id_{id}", LastName = lastName };
            var changes = new List<TableTransactionAction> { old is null ? Add(employee) : Replace(employee, old.ETag) };
            foreach (var name in new[] { lastName, old?.LastName ?? lastName }.Distinct())
            {
                var list = await table.Read<TableEntity>(partition, $"list_{name}");
                var ids = new SortedSet<string>(list is null ? [] : JsonSerializer.Deserialize<string[]>(list.GetString("Ids"))!, StringComparer.Ordinal);
                if (name == lastName) ids.Add(id);
                else ids.Remove(id);
                var next = new TableEntity(partition, $"list_{name}") { ["Ids"] = JsonSerializer.Serialize(ids) };
                changes.Add(list is null ? Add(next) : Replace(next, list.ETag));
            }
            await table.SubmitTransactionAsync(changes);
        });
        async Task<string> Ids(string name) => (await table.GetEntityAsync<TableEntity>(partition, $"list_{name}")).Value.GetString("Ids");

        await Task.WhenAll(Enumerable.Range(1, 6).Select(id => Save(Padded(id), "Jones")));
        Assert.Equal("""["0001","0002","0003","0004","0005","0006"]""", await Ids("Jones"));
        await Save("0002", "Smith");
        Assert.Equal("""["0001","0003","0004","0005","0006"]""", await Ids("Jones"));
        Assert.Equal("""["0002"]""", await Ids("Smith"));
    }

    [Fact]
    public async Task A_list_in_a_partition_for_each_value()
    {
        string Piece(string key) => $"keys_{SHA256.HashData(Encoding.UTF8.GetBytes(key))[0] % 4}";
        Task Change(string lastName, string key, Action<SortedSet<string>> edit) => Retried(async () =>
        {
            var piece = await table.Read<TableEntity>(partition + lastName, Piece(key));
            var keys = new SortedSet<string>(piece?.GetString("Keys").Split(' ', StringSplitOptions.RemoveEmptyEntries) ?? [], StringComparer.Ordinal);
            edit(keys);
            var next = new TableEntity(partition + lastName, Piece(key)) { ["Keys"] = string.Join(' ', keys) };
            await (piece is null ? table.AddEntityAsync(next) : table.UpdateEntityAsync(next, piece.ETag, TableUpdateMode.Replace));
        });
        await Task.WhenAll(Enumerable.Range(0, 12).Select(id => Change("Jones", Padded(id), keys => keys.Add(Padded(id)))));
        await Change("Jones", "0003", keys => keys.Remove("0003"));
        var name = partition + "Jones";
        var pieces = await table.QueryAsync<TableEntity>(e => e.PartitionKey == name).ToList();
        Assert.True(pieces.Count > 1);
        Assert.Equal(Enumerable.Range(0, 12).Where(id => id != 3).Select(id => Padded(id)),
            pieces.SelectMany(piece => piece.GetString("Keys").Split(' ', StringSplitOptions.RemoveEmptyEntries)).Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task Copied_properties_in_pages_of_99()
    {
        await table.AddEntityAsync(new Department { PartitionKey = partition, Name = "Sales", ManagerName = "Ann" });
        foreach (var some in Enumerable.Range(0, 150).Chunk(100))
        {
            await table.SubmitTransactionAsync(some.Select(id => Add(new Employee { PartitionKey = partition, RowKey = $"employee_{Padded(id)}", ManagerName = "Ann" })));
        }
        await table.UpdateEntityAsync(new TableEntity(partition, "department") { ["ManagerName"] = "Bo" }, ETag.All);

        var pages = 0;
        var stale = table.QueryAsync<Employee>(e => e.PartitionKey == partition && e.RowKey.CompareTo("employee_") >= 0 &&
            e.RowKey.CompareTo("employee`") < 0 && e.ManagerName != "Bo", maxPerPage: 99, select: ["RowKey"]);
        await foreach (var page in stale.AsPages())
        {
            if (page.Values.Count == 0) continue;
            pages++;
            Department department = await table.GetEntityAsync<Department>(partition, "department");
            await table.SubmitTransactionAsync([
                Merge(new TableEntity(partition, "department"), department.ETag),
                .. page.Values.Select(e => Merge(new TableEntity(partition, e.RowKey) { ["ManagerName"] = department.ManagerName }, ETag.All))]);
        }
        Assert.True(pages >= 2);
        var names = await table.QueryAsync<Employee>(e => e.PartitionKey == partition && e.RowKey.CompareTo("employee_") >= 0).ToList();
        Assert.Equal((150, 1, "Bo"), (names.Count, names.Select(e => e.ManagerName).Distinct().Count(), names[0].ManagerName));
    }

    [Fact]
    public async Task Summary_entities_by_writers_that_meet()
    {
        Task SetOrder(string id, int? cents) => Retried(async () =>
        {
            var total = await table.Read<TableEntity>(partition, "total");
            var order = await table.Read<TableEntity>(partition, $"order_{id}");
            var next = new TableEntity(partition, "total")
            {
                ["Orders"] = (total?.GetInt32("Orders") ?? 0) + (cents is null ? 0 : 1) - (order is null ? 0 : 1),
                ["Cents"] = (total?.GetInt64("Cents") ?? 0L) + (cents ?? 0) - (order?.GetInt32("Cents") ?? 0),
            };
            await table.SubmitTransactionAsync([
                total is null ? Add(next) : Replace(next, total.ETag),
                cents is null ? Delete(partition, $"order_{id}") : Put(new TableEntity(partition, $"order_{id}") { ["Cents"] = cents })]);
        });
        await Task.WhenAll(Enumerable.Range(1, 5).Select(i => SetOrder(Padded(i), 1000 * i)));
        await SetOrder("0002", 2500);
        await SetOrder("0005", null);
        TableEntity summary = await table.GetEntityAsync<TableEntity>(partition, "total");
        Assert.Equal((4, 10500L), (summary.GetInt32("Orders"), summary.GetInt64("Cents")));
        var orders = await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.RowKey.CompareTo("order_") >= 0 && e.RowKey.CompareTo("order`") < 0).ToList();
        Assert.Equal(10500, orders.Sum(order => order.GetInt32("Cents")));
    }

    [Fact]
    public async Task The_end_of_a_log_first()
    {
        static string Inverted(DateTime at) => (DateTime.MaxValue.Ticks - at.Ticks).ToString("D19", CultureInfo.InvariantCulture);
        var noon = new DateTime(2024, 1, 1, 12, 0, 0, DateTimeKind.Utc);
        for (var minute = 0; minute < 10; minute++)
        {
            await table.AddEntityAsync(new TableEntity(partition, $"{Inverted(noon.AddMinutes(minute))}_user{minute}") { ["User"] = $"user{minute}" });
        }
        var newest = new List<string>();
        await foreach (var page in table.QueryAsync<TableEntity>(e => e.PartitionKey == partition, maxPerPage: 3).AsPages())
        {
            newest.AddRange(page.Values.Select(entity => entity.GetString("User")));
            break;
        }
        Assert.Equal(["user9", "user8", "user7"], newest);
        var since = Inverted(noon.AddMinutes(5)) + "`";
        Assert.Equal(5, (await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.RowKey.CompareTo(since) < 0).ToList()).Count);
    }

    [Fact]
    public async Task A_series_in_one_entity()
    {
        Task Record(int hour, double value) =>
            table.UpsertEntityAsync(new TableEntity(partition, "2024-06-01") { [$"h{hour:D2}"] = value }, TableUpdateMode.Merge);
        await Task.WhenAll(Enumerable.Range(0, 24).Select(hour => Record(hour, hour * 1.5)));
        await Record(9, 14.25);
        TableEntity day = await table.GetEntityAsync<TableEntity>(partition, "2024-06-01");
        Assert.Equal(24, day.Keys.Count(name => name.StartsWith('h')));
        Assert.Equal((12.0, 14.25), (day.GetDouble("h08"), day.GetDouble("h09")));
    }

    [Fact]
    public async Task An_entity_wider_than_the_limits()
    {
        var parts = Enumerable.Range(0, 500).Chunk(200).Select((numbers, part) =>
        {
            var entity = new TableEntity(partition, $"000042_{Padded(part, 2)}") { ["Parts"] = 3 };
            foreach (var number in numbers) entity[$"Answer{number}"] = number;
            return entity;
        }).ToList();
        await table.SubmitTransactionAsync(parts.Select(Put));
        var read = await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.RowKey.CompareTo("000042_") >= 0 && e.RowKey.CompareTo("000042`") < 0).ToList();
        Assert.Equal(read[0].GetInt32("Parts"), read.Count);
        var answers = read.SelectMany(entity => entity).Where(pair => pair.Key.StartsWith("Answer", StringComparison.Ordinal)).ToDictionary(pair => pair.Key, pair => pair.Value);
        Assert.Equal((500, 499), (answers.Count, (int)answers["Answer499"]!));
    }

    [Fact]
    public async Task Several_types_in_one_table()
    {
        await table.SubmitTransactionAsync([
            Put(new TableEntity(partition, "profile") { ["Type"] = "profile", ["Name"] = "Ann", ["City"] = "Oslo" }),
            Put(new TableEntity(partition, "order_0001") { ["Type"] = "order", ["Total"] = 20.5 }),
            Put(new TableEntity(partition, "order_0002") { ["Type"] = "order", ["Total"] = 99 }),
            Put(new TableEntity(partition, "visit_2024-06-01") { ["Type"] = "visit", ["Pages"] = 12 })]);
        string[] shown = [.. (await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition).ToList()).Select(e => e.GetString("Type") switch
        {
            "profile" => $"{e["Name"]} of {e["City"]}",
            "order" => $"order over {Convert.ToString(e["Total"], CultureInfo.InvariantCulture)}",
            var other => $"{e["Pages"]} pages of a {other}",
        })];
        Assert.Equal(["order over 20.5", "order over 99", "Ann of Oslo", "12 pages of a visit"], shown);
        Assert.Equal("order_0002", await table.RowKeys($"PartitionKey eq '{partition}' and Total gt 50"));
    }

    [Fact]
    public async Task Inheritance_by_a_path_in_the_discriminator()
    {
        foreach (var (key, kind) in new[] { ("0001", "person.employee"), ("0002", "person.employee.manager"), ("0003", "person.contractor"), ("0004", "person.employees") })
        {
            await table.AddEntityAsync(new TableEntity(partition, key) { ["Kind"] = kind });
        }
        var filter = TableClient.CreateQueryFilter(
            $"PartitionKey eq {partition} and (Kind eq {"person.employee"} or (Kind gt {"person.employee."} and Kind lt {"person.employee/"}))");
        Assert.Equal("0001 0002", await table.RowKeys(filter));
    }

    [Fact]
    public async Task Versions_of_a_type_are_converted_as_they_change()
    {
        await table.AddEntityAsync(new TableEntity(partition, "0001") { ["Version"] = 1, ["Name"] = "Ann Jones" });
        await table.AddEntityAsync(new TableEntity(partition, "0002") { ["Version"] = 2, ["FirstName"] = "Bo", ["LastName"] = "Smith" });
        async Task<List<TableEntity>> Outdated() =>
            await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.GetInt32("Version") < 2).ToList();
        foreach (var old in await Outdated())
        {
            var words = old.GetString("Name").Split(' ');
            old.Remove("Name");
            old["FirstName"] = words[0];
            old["LastName"] = words[1];
            old["Version"] = 2;
            await table.UpdateEntityAsync(old, old.ETag, TableUpdateMode.Replace);
        }
        Assert.Empty(await Outdated());
        TableEntity ann = await table.GetEntityAsync<TableEntity>(partition, "0001");
        Assert.Equal(("Ann", "Jones", false), (ann.GetString("FirstName"), ann.GetString("LastName"), ann.ContainsKey("Name")));
    }

    [Fact]
    public async Task Deleting_much_by_dropping_a_table()
    {
        var prefix = Stores.FreshName("log");
        foreach (var day in new[] { 1, 2 })
        {
            var log = await Created($"{prefix}x{day}");
            await log.SubmitTransactionAsync(Enumerable.Range(0, 100).Select(i => Add(new TableEntity("web", Padded(i, 3)))));
        }
        await Service().DeleteTableAsync($"{prefix}x1");
        await Refused.With(404, "TableNotFound", () => Table($"{prefix}x1").QueryAsync<TableEntity>().ToList());
        Assert.Equal(100, (await Table($"{prefix}x2").QueryAsync<TableEntity>().ToList()).Count);
        Assert.Equal(204, (await Service().DeleteTableAsync($"{prefix}x2")).Status);
        // The SDK takes a table that is not there for deleted.
        Assert.Equal(404, (await Service().DeleteTableAsync($"{prefix}x2")).Status);
    }

    [Fact]
    public async Task Keys_that_only_grow_are_spread()
    {
        string Bucket(string id) => $"{partition}b{SHA256.HashData(Encoding.UTF8.GetBytes(id))[0] % 4}";
        await Task.WhenAll(Enumerable.Range(0, 40).Select(i =>
            table.UpsertEntityAsync(new TableEntity(Bucket($"event{i}"), $"2024-06-01T12:{i:D2}_event{i}"))));
        var found = await Task.WhenAll(Enumerable.Range(0, 4).Select(bucket => table.RowKeys(TableClient.CreateQueryFilter(
            $"PartitionKey eq {$"{partition}b{bucket}"} and RowKey ge {"2024-06-01T12:10"} and RowKey lt {"2024-06-01T12:20"}"))));
        Assert.True(found.Count(keys => keys != "") > 1);
        Assert.Equal(10, found.SelectMany(keys => keys.Split(' ', StringSplitOptions.RemoveEmptyEntries)).Count());
    }

    [Fact]
    public async Task A_lease_in_a_row_is_taken_by_one_of_many()
    {
        // DurableTask and Orleans keep owners in this way: the ETag decides.
        await table.AddEntityAsync(new TableEntity("", partition) { ["Owner"] = "" });
        TableEntity seen = await table.GetEntityAsync<TableEntity>("", partition);
        var taken = await Task.WhenAll(Enumerable.Range(0, 8).Select(async owner =>
        {
            try
            {
                await table.UpdateEntityAsync(new TableEntity("", partition) { ["Owner"] = $"{owner}" }, seen.ETag, TableUpdateMode.Replace);
                return 1;
            }
            catch (RequestFailedException error) when (error.Status == 412)
            {
                return 0;
            }
        }));
        Assert.Equal(1, taken.Sum());
    }
}
